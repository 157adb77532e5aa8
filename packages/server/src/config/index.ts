/** Configuration: file and environment → one frozen, typed `Config`. The only reader of the environment. */
export { type Config, environmentName, type KeyPath, keys } from "./keys.ts";
export { isSecure, type LoadedConfig, type LoadOptions, loadConfig, secretVariables } from "./load.ts";
export { logFormatOf } from "./log-format.ts";
export { type Supervision, supervisionOf, supervisionVariables } from "./supervision.ts";
export { duration, type Rate } from "./values.ts";
