/** Auth: users, sessions and tokens; finds the principal of an access token. */
export { Auth, type AuthHooks, type AuthStep } from "./auth.ts";
export { readCredentials, readPassword, readRole } from "./credentials.ts";
export type { PasswordCaller } from "./passwords.ts";
export { authSchema } from "./schema.ts";
export { userQueryTable, userTable } from "./user-table.ts";
export type { Users } from "./users.ts";
