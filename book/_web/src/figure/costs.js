// What a model costs at a resolution, from what it costs by the patch, the token, the pair of tokens and once, which
// vit/cost.py has counted. All counts are whole and below 2^53; training is beyond, and counted in BigInt.

export function forward(model, { res, cls, registers }) {
  const patches = (res / model.P) ** 2;
  const prefix = Number(cls) + registers;
  const tokens = patches + prefix;
  const macs = {
    linear: tokens * model.macs.linear,
    attention: tokens ** 2 * model.macs.attention,
    patch: patches * model.macs.patch,
    head: model.macs.head,
  };
  const total = Object.values(macs).reduce((sum, count) => sum + count);
  const { position, prefix: eachPrefix, rest } = model.parameters;
  const parameters = position * (patches + Number(cls)) + eachPrefix * prefix + rest;
  const crossover = Math.ceil(Math.sqrt(Math.max(model.crossover - prefix, 1))) * model.P;
  return { patches, prefix, tokens, macs, total, parameters, crossover };
}

// Bytes kept for one image by all blocks: attention weights in bfloat16, or a log-sum-exp in float32 for every row.
export function kept(model, tokens) {
  return { weights: tokens ** 2 * model.weights, logSumExp: tokens * model.logSumExp };
}

// Attention when all but `global` blocks attend inside windows of `window` by `window` patches, against all global.
export function windowed(model, res, window, global) {
  const grid = res / model.P;
  const padded = Math.ceil(grid / window) * window;
  const windows = (padded / window) ** 2;
  const everywhere = model.L * grid ** 4; // pairs of tokens
  const mixed = (model.L - global) * windows * window ** 4 + global * grid ** 4;
  const priced = (pairs) => ({ macs: (pairs * model.macs.attention) / model.L, weights: (pairs * model.weights) / model.L });
  return { grid, padded, windows, everywhere: priced(everywhere), mixed: priced(mixed) };
}

// FLOPs of a training run, and the days that one device of `peak` FLOP/s takes for it at utilization `mfu`.
export function training(total, images, epochs, peak, mfu) {
  const flops = 6n * BigInt(total) * BigInt(epochs) * BigInt(images);
  return { flops, days: Number(flops) / (peak * mfu * 86_400) };
}
