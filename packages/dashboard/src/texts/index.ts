/** The language of the dashboard. A further language is a file beside `en.ts` with the same shape. */
import { en } from "./en.ts";

export type Texts = typeof en;

export const text: Texts = en;
