"""Convolutions on a grid of equally spaced points, by Fourier transforms with padding."""

import jax.numpy as jnp

from jaxrate.core.array_types import Array


def linear_convolution_fft_length(n: int) -> int:
    """The least length of fast Fourier transforms from 2 n - 1, at which a convolution of n points does not wrap."""
    from scipy.fft import next_fast_len  # type: ignore[import-untyped]  # the import takes a tenth of a second

    return int(next_fast_len(2 * n - 1, real=True))


def grid_differences_in_fft_order(n: int) -> Array:
    """The differences i - j of two of n points, in the order of spectra: 0 to n - 1, 1 - n to -1."""
    return jnp.concatenate([jnp.arange(n), jnp.arange(1 - n, 0)]).astype(jnp.result_type(float))


def padded_spectrum_of_differences(values_at_differences: Array) -> Array:
    """The padded Fourier transform of a function [..., 2 n - 1] of the differences."""
    n = (values_at_differences.shape[-1] + 1) // 2
    gap = linear_convolution_fft_length(n) - (2 * n - 1)
    between = jnp.zeros((*values_at_differences.shape[:-1], gap), values_at_differences.dtype)
    padded = jnp.concatenate([values_at_differences[..., :n], between, values_at_differences[..., n:]], axis=-1)
    return jnp.fft.rfft(padded)


def convolve_with_spectrum(spectrum: Array, p: Array) -> Array:
    """sum_j f(i - j) p_j for every i of n points, by Fourier transforms padded so that nothing wraps around.

    Args:
      spectrum: `padded_spectrum_of_differences` of f; its conjugate gives f(j - i).
      p: [..., n].
    """
    length = linear_convolution_fft_length(p.shape[-1])
    return jnp.fft.irfft(spectrum * jnp.fft.rfft(p, length), length)[..., : p.shape[-1]]
