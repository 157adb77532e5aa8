/** The composition root: builds every module, names what each needs, and owns their start and stop. */
export { App } from "./app.ts";
export { openService, type Service } from "./service.ts";
export { version } from "./version.ts";
