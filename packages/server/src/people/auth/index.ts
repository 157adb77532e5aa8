/** Auth: users, passwords, sessions and tokens; finds the principal of an access token, and slows down wrong passwords. */
export { Account } from "./account.ts";
export { Auth } from "./auth.ts";
export { isCommonPassword } from "./common-password.ts";
export type { Factors } from "./factors/factors.ts";
export { type FirebaseParameters, firebaseHash } from "./firebase-scrypt.ts";
export { isForeignHash } from "./foreign-hash-table.ts";
export { sharedAddresses } from "./former-email-table.ts";
export type { Keys } from "./keys/keys.ts";
export type { Notices } from "./notices.ts";
export { checkRecent } from "./own-change.ts";
export type { PasswordCost } from "./password-worker.ts";
export { ownCaller, type PasswordCaller } from "./passwords.ts";
export type { Proofs } from "./proofs/proofs.ts";
export type { AppRequest } from "./providers/app-codes.ts";
export { issuerOf } from "./providers/presets.ts";
export type { Providers } from "./providers/providers.ts";
export type { AppTarget } from "./providers/steps.ts";
export {
  readCode,
  readCredentials,
  readEmail,
  readOptionalPassword,
  readOptionalText,
  readPassword,
  readText,
} from "./read-body.ts";
export { authSchema } from "./schema.ts";
export type { AuthHooks, AuthStep, StepReads } from "./sign-ins.ts";
export { UserDeletions } from "./user-deletions.ts";
export type { UserForms } from "./user-forms.ts";
export { userNamed, userQueryTable, userTable } from "./user-table.ts";
export type { NewUser, Users } from "./users.ts";
