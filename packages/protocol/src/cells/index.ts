/** Texts of files as values: the same cell means the same value for the service, its commands and the dashboard. */
export { type Datetime, parseDatetime, readDatetime } from "./datetime.ts";
