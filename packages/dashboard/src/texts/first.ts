/** The texts before the sign-in, for the files of the first paint: the other texts come with the pages. */
export { first as text } from "./en/first.ts";
