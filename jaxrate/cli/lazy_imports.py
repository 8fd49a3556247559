"""What commands use of the library, imported at its first use: help and completion do without NumPy and JAX."""

# ruff: noqa: F401
# mypy: implicit-reexport
import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxrate.core.optional_imports import LazyModule

if TYPE_CHECKING:
    import jax
    import numpy as np
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Table
    from rich.text import Text

    from jaxrate.arena.rank_inference import MAX_RANKED, RankSets
    from jaxrate.arena.strength_drift import StrengthDrift
    from jaxrate.arena.strength_fit import Strengths, format_value_and_error
    from jaxrate.arena.votes import CountColumns, cluster_codes, describe_vote_dates, read_vote_table, uncounted_ties
    from jaxrate.core.system import UnknownParameterError
    from jaxrate.data.column_conversion import is_text, to_column, to_numbers
    from jaxrate.data.column_recognition import (
        FORMAT_EVIDENCE,
        ColumnsRecognisedWarning,
        do_points_contradict,
        points_in_scorelines,
        recognise_evidence_columns,
        recognise_forecast_columns,
        resolve_table,
    )
    from jaxrate.data.column_role_definitions import select_role_arguments
    from jaxrate.data.dataset_from_table import DATASET_OPTIONS, read_by_cli_options
    from jaxrate.data.formats.csv_collections import COLUMN_OPTIONS
    from jaxrate.data.match_margins import first_player_lead
    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.data.table_files import (
        first_rows,
        has_readable_suffix,
        join_files,
        list_table_files,
        open_table_file,
        open_table_source,
    )
    from jaxrate.data.table_sources import (
        TableSource,
        add_location_to_data_errors,
        check_columns_exist_and_unique,
        import_pyarrow,
    )
    from jaxrate.evaluation.benchmark import Benchmark, check_has_two_sides
    from jaxrate.evaluation.comparison import (
        BASELINES,
        TEAM_BASELINES,
        Comparison,
        format_side_advantage,
        select_candidates,
        use_of_data_features,
    )
    from jaxrate.evaluation.scored_predictions import (
        describe_constant_forecast,
        evaluate_predictions,
        format_metric,
        make_scoring_target,
    )
    from jaxrate.events import period_end, slice_events
    from jaxrate.fitting.hyperparameter_fit import has_unclear_trend, losses_with_parts_switched_off, make_fixed_key
    from jaxrate.fitting.losses import LOSSES, choose_loss
    from jaxrate.forecasts.draw_probabilities import add_fitted_outcomes
    from jaxrate.forecasts.prediction_explanations import heads_and_cells, is_explained
    from jaxrate.forecasts.scorelines import predicts_goals
    from jaxrate.forecasts.upcoming_events import FixtureOptions
    from jaxrate.history.column_table import (
        LEFT_ALIGNED_COLUMNS,
        ODDS_COLUMNS,
        PROBABILITY_COLUMNS,
        ColumnTable,
        as_column_table,
    )
    from jaxrate.history.dataset_rating import check_contests_in_time_order, select_events
    from jaxrate.history.event_columns import days_to_dates, times_to_event_clock
    from jaxrate.history.history import describe_event_counts, find_player_id, format_time
    from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS, Leaderboard
    from jaxrate.history.out_of_core.checkpoints import read_checkpoint
    from jaxrate.history.out_of_core.chunk_reading import resolve_table_reading
    from jaxrate.history.out_of_core.rating_by_chunks import Chunks, rate_by_chunks
    from jaxrate.history.ratings_at_times import input_date_format, parse_moment
    from jaxrate.history.recorded_runs import OPTION, describe_calibration
    from jaxrate.history.saved_runs import describe_longer_run, make_run_metadata, write_run
    from jaxrate.metrics.prediction_metrics import LogLossDifference
    from jaxrate.replay.padded_arrays import state_shapes
    from jaxrate.site.arena_page import MAX_NUMBERED_PLAYERS, PLAYER_COLUMNS
    from jaxrate.site.benchmark_page import advise_best_system, find_system_standing
    from jaxrate.site.page_templates import WINDOWS_RESERVED, check_address, make_template_environment
    from jaxrate.site.site_data import unique_display_names
    from jaxrate.site.site_writer import check_site_folder
    from jaxrate.storage.run_folder import lock_folder
    from jaxrate.systems import DEFAULT_SYSTEMS, systems_with_feature
    from jaxrate.systems.prediction_wrapping import (
        addable_param_names,
        find_own_draw_predict_rule,
        has_outcome_wrapper,
        wrapper_names,
    )
    from jaxrate.systems.skills.system import list_further_hyperparameters
    from jaxrate.systems.system_construction_by_name import (
        add_parts_to_fit,
        can_rate_dataset,
        default_system_name,
        has_sides,
        make_system,
        make_system_for_data,
        split_unsupported_teams,
    )
    from jaxrate.views.accuracy import LOSING_ADVICE, WAYS_OUT, summarise_accuracy
    from jaxrate.views.charts import half_widths
    from jaxrate.views.findings import find_first_place, find_lead
    from jaxrate.views.wording import (
        MODELS,
        PlayerOrTeamNoun,
        list_names,
        make_noun,
        name_rated,
        rating_unit,
    )
else:
    jax, np = LazyModule("jax"), LazyModule("numpy")
    IMPORTS = next(x.body for x in ast.parse(Path(__file__).read_text(encoding="utf-8")).body if isinstance(x, ast.If))
    MODULES = {name.name: x.module for x in IMPORTS if isinstance(x, ast.ImportFrom) for name in x.names}

    def __getattr__(name: str) -> Any:
        """A name that type checkers import above."""
        if name not in MODULES:
            raise AttributeError(f"commands import no {name!r}")
        return getattr(import_module(MODULES[name]), name)
