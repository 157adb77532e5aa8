/** The language of the dashboard. A further language is a file beside `en.ts` with the same shape. */
export { en as text } from "./en.ts";
