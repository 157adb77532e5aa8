/** Functions: triggers, deliveries that survive a crash, and runs; hooks before writes. */

export { noticeOf, triggersOf } from "./function-file.ts";
export { Functions } from "./functions.ts";
export { followCollection } from "./renamed-folder.ts";
export { functionSchema } from "./schema.ts";
