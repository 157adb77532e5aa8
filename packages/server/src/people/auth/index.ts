/** Auth: users, passwords, sessions and tokens; finds the principal of an access token, and slows down wrong passwords. */
export { Auth, type AuthHooks, type AuthStep } from "./auth.ts";
export type { PasswordCaller } from "./passwords.ts";
export { authSchema } from "./schema.ts";
export { readCredentials, readPassword, type Users, userQueryTable, userTable } from "./users.ts";
