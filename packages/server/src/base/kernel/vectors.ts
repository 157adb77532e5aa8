/**
 * Vectors: the stored form, and distances. A vector is stored as base64 of its numbers, each with 32 bits, little end first. Sums go
 * over the numbers in order with 64 bits, so that a distance is the same on every machine, whatever part of the service computes it.
 */
import type { VectorMetric } from "@socle/protocol";

/** The stored form of a vector. */
export function encodeVector(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString("base64");
}

/** The numbers of a stored vector. */
export function decodeVector(stored: string): Float32Array {
  const numbers = new Float32Array(Math.floor((stored.length * 3) / 16));
  writeVector(stored, numbers);
  return numbers;
}

/** Writes the numbers of a stored vector into an array of as many numbers. */
export function writeVector(stored: string, into: Float32Array): void {
  Buffer.from(into.buffer, into.byteOffset, into.byteLength).write(stored, "base64");
}

/** The numbers of a stored vector with as few digits as tell the stored number, or nine: 0.1 in place of 0.10000000149011612. */
export function numbersOf(stored: string): number[] {
  return Array.from(decodeVector(stored), (number) => {
    const short = Number(number.toPrecision(7));
    return Math.fround(short) === number ? short : Number(number.toPrecision(9));
  });
}

/** The sum of the products of the numbers of two vectors. */
function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/** The length of a vector. */
export function lengthOf(vector: Float32Array): number {
  return Math.sqrt(dot(vector, vector));
}

/** The distance by the cosine, of the sum of the products, and of the product of the lengths. Zeros have no direction: their distance is 1. */
export function cosineDistance(products: number, lengths: number): number {
  return lengths === 0 ? 1 : 1 - products / lengths;
}

/** The distance of two vectors by a metric, for a comparison: by `l2`, the square of the distance. */
export function vectorDistance(a: Float32Array, b: Float32Array, metric: VectorMetric): number {
  if (metric === "cosine") return cosineDistance(dot(a, b), lengthOf(a) * lengthOf(b));
  let sum = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    sum += difference * difference;
  }
  return sum;
}
