// What is expected of any pair: see jaxrate/records/pairs.py. Series are independent games, as jaxrate/plots says of them.

const pairsOf = ({ players, scale, left, right }) => {
  const numbers = (packed) => new Int16Array(Uint8Array.from(atob(packed), (x) => x.charCodeAt(0)).buffer);
  const [u, v] = [numbers(left), numbers(right)];
  return (a, b) => {
    const term = (c, k) => c * (u[k * players + a] * v[k * players + b] - v[k * players + a] * u[k * players + b]);
    return Math.min(Math.max(scale.reduce((sum, c, k) => sum + term(c, k), 0.5), 0), 1);
  };
};

const series = (p, games) => {
  const need = (games + 1) / 2;
  let [total, term] = [0, p ** need];
  for (let lost = 0; lost < need; lost++) {
    total += term;
    term *= ((1 - p) * (need + lost)) / (lost + 1);
  }
  return total;
};
