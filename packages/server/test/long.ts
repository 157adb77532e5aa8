/** The forms of a test: the short form of `npm test`, and the long form of `npm run test:long`. */
import { test } from "bun:test";

/** Whether tests run in the long form, with more rounds than show the promise. */
export const isLong = process.env["SOCLE_LONG"] !== undefined;

/** A test of `npm run test:long` alone. */
export const longTest: (title: string, run: () => Promise<void>, timeout?: number) => void = isLong
  ? test
  : () => undefined;
