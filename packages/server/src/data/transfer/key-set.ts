/** A set of many texts in little memory: 16 bytes for each text, as hashes of 128 bits. */
import { AppError } from "../../base/kernel/index.ts";

/** The most texts of a set: 64 MiB. */
const maxSize = 3_000_000;
/** In place of a removed text. */
const removed = 2n ** 64n - 1n;

export class KeySet {
  /** Two numbers for each place; two zeros are an empty place. */
  #places = new BigUint64Array(2 * 1_024);
  /** The places that are not empty. */
  #used = 0;

  /** @throws AppError `bad_request` for a text too many. */
  add(text: string): void {
    if (this.#used >= maxSize)
      throw new AppError(
        "bad_request",
        `The file has more than ${maxSize.toLocaleString("en")} ids and unique values to keep in memory; split the file.`,
      );
    if (this.#used * 8 >= this.#places.length * 3) this.#grow();
    this.#put(Bun.hash.wyhash(text, 1n), Bun.hash.wyhash(text, 2n));
  }

  has(text: string): boolean {
    return this.#places[this.#placeOf(Bun.hash.wyhash(text, 1n), Bun.hash.wyhash(text, 2n))] !== 0n;
  }

  delete(text: string): void {
    const place = this.#placeOf(Bun.hash.wyhash(text, 1n), Bun.hash.wyhash(text, 2n));
    if (this.#places[place] !== 0n) this.#places.fill(removed, place, place + 2);
  }

  #put(first: bigint, second: bigint): void {
    const place = this.#placeOf(first, second);
    if (this.#places[place] === 0n) this.#used += 1;
    this.#places[place] = first || 1n;
    this.#places[place + 1] = second;
  }

  /** The place of a text, or the empty place for the text. */
  #placeOf(hash: bigint, second: bigint): number {
    const first = hash || 1n;
    const places = this.#places;
    let place = Number(first % BigInt(places.length / 2)) * 2;
    while (places[place] !== 0n && (places[place] !== first || places[place + 1] !== second))
      place = (place + 2) % places.length;
    return place;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new BigUint64Array(before.length * 2);
    this.#used = 0;
    for (let at = 0; at < before.length; at += 2) {
      const [first = 0n, second = 0n] = before.subarray(at, at + 2);
      if (first !== 0n && (first !== removed || second !== removed)) this.#put(first, second);
    }
  }
}
