/** Vectors: the value of a vector field, such as the embedding of a text by a model. */

/** The distances of vectors: `cosine` is 1 less the cosine of the angle, `l2` the length of the difference. */
export const VECTOR_METRICS = ["cosine", "l2"] as const;
export type VectorMetric = (typeof VECTOR_METRICS)[number];

/** The most numbers of a vector. */
export const MAX_DIMENSIONS = 4_096;

/**
 * The bounds of the length of a vector, the root of the sum of the squares: the numbers are stored with 32 bits, and no square of a
 * length within the bounds is rounded to 0 or to infinity. For `l2`, zeros are a vector, too.
 */
const shortest = 1e-15;
const longest = 1e15;

export interface VectorShape {
  readonly dimensions: number;
  readonly metric: VectorMetric;
}

/** The problem of a value that is no vector of a shape, as the end of a sentence that begins with the name of the field; null for a vector. */
export function vectorProblem(value: unknown, { dimensions, metric }: VectorShape): string | null {
  const form = `must be an array of ${dimensions} ${dimensions === 1 ? "number" : "numbers"}`;
  if (!Array.isArray(value)) return `${form}, not ${shown(value)}`;
  if (value.length !== dimensions) return `${form}, not of ${value.length}`;
  let squares = 0;
  for (const [place, item] of value.entries()) {
    if (typeof item !== "number" || !Number.isFinite(item))
      return `${form}, each finite: item ${place} is ${shown(item)}`;
    squares += item * item;
  }
  const length = Math.sqrt(squares);
  if (length > longest) return `must have a length of at most ${longest} (the root of the sum of the squares)`;
  if (metric === "l2" || length >= shortest) return null;
  if (length === 0) return 'must not be zeros alone: "metric": "cosine" compares directions, and zeros have none';
  return `must have a length of at least ${shortest} (the root of the sum of the squares)`;
}

function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : (JSON.stringify(value)?.slice(0, 60) ?? "nothing");
}
