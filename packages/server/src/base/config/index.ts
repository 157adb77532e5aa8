/** Configuration: reads the file and the environment into a frozen, typed `Config`. Only this module reads the environment. */
export {
  isLoopback,
  neededSettings,
  PROVIDER_PRESETS,
  type ProviderPreset,
  type ProviderSettings,
} from "./auth-providers.ts";
export { type Config, environmentName, type KeyPath, keys } from "./keys.ts";
export { type ConfiguredKeys, configWith, isLiveKey, type LiveKey, LiveSettings } from "./live.ts";
export { isSecure, type LoadedConfig, type LoadOptions, loadConfig, logFormatOf, secretVariables } from "./load.ts";
export { configOf, type PlainConfig, plainConfig } from "./plain.ts";
export type { RequestLimit } from "./request-limits.ts";
export { type Supervision, supervisionOf, supervisionVariables } from "./supervision.ts";
export { duration, keptBackups } from "./values.ts";
