/** The field type text: Unicode text of many lines. The service treats it as a string; the dashboard gives it a larger control. */
import type { FieldType } from "../field-type.ts";
import { string } from "./string.ts";

export const text: FieldType = { ...string, name: "text" };
