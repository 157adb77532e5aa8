/** The forms of a test: the short form of `npm test`, and the long form of `npm run test:long`. */

/** Whether tests run in the long form, with more rounds than show the promise. */
export const isLong = process.env["SOCLE_LONG"] !== undefined;
