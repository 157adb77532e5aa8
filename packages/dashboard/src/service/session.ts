/**
 * The session of the admin who uses this tab. A page stays when its session expires: a form over the page signs in
 * again, and typed text stays.
 */
import type { LogoutOptions } from "@socle/client";
import type { Credentials, SecondFactorProof, User } from "@socle/protocol";
import { text } from "../texts/first.ts";
import { client } from "./client.ts";
import { Store, useStore } from "./store.ts";
import { askOtherTabs } from "./tabs.ts";

export type Session =
  | { readonly phase: "out" }
  | { readonly phase: "in"; readonly user: User }
  /** The user was signed in; the page waits for a new sign-in. */
  | { readonly phase: "expired"; readonly user: User };

/** A sign-in of a user without the role of an admin. */
class NotAdminError extends Error {
  override readonly name = "NotAdminError";

  constructor() {
    super(text.login.notAdmin);
  }
}

const current = new Store<Session>({ phase: "out" });
let isLeaving = false;
let isEntering = false;

// Here or in another tab: null when a session has ended.
client.session.subscribe((signedIn) => {
  if (isLeaving || isEntering) return;
  const session = current.get();
  const isOther = signedIn?.userId !== undefined && session.phase === "in" && signedIn.userId !== session.user.id;
  if (session.phase === "in" && (!signedIn || isOther)) current.set({ phase: "expired", user: session.user });
  // Another tab has signed in again.
  else if (signedIn && session.phase === "expired") void resume(session.user);
  // Another tab has signed in, or has answered after this tab stopped waiting. A failure leaves the form to sign in.
  else if (signedIn && session.phase === "out") restoreSession().catch(() => undefined);
});

/** Goes on when the tokens belong to the same admin; another admin has to sign in here, too. */
async function resume(user: User): Promise<void> {
  const now = await client.me().catch(() => null);
  if (now?.id === user.id && now.role === "admin") current.set({ phase: "in", user: now });
}

/** Enters as the user that a request answers. @throws NotAdminError for a user without the role, and signs the user out. */
async function enter(request: Promise<User>): Promise<User> {
  isEntering = true;
  try {
    const user = await request;
    if (user.role === "admin") {
      current.set({ phase: "in", user });
      return user;
    }
  } finally {
    isEntering = false;
  }
  await leave();
  throw new NotAdminError();
}

async function leave(options?: LogoutOptions): Promise<void> {
  isLeaving = true;
  try {
    // The client forgets the session also when the service cannot be told, unless all sessions were to end.
    await client.logout(options);
  } finally {
    isLeaving = false;
    if (client.accessToken === null) current.set({ phase: "out" });
  }
}

/** Signs in again with the tokens of this tab or of another tab, if present. Answers the user, or null. */
export async function restoreSession(): Promise<User | null> {
  const session = current.get();
  if (session.phase !== "out") return session.user;
  if (client.accessToken === null) await askOtherTabs();
  if (client.accessToken === null) return null;
  try {
    return await enter(client.me());
  } catch (error) {
    if (client.accessToken === null || error instanceof NotAdminError) return null;
    throw error;
  }
}

/** @throws NotAdminError, SocleError, SecondFactorRequired. */
export async function signIn(credentials: Credentials): Promise<User> {
  return enter(client.login(credentials));
}

/** Ends a sign-in that needs the second factor. @throws NotAdminError, SocleError. */
export async function finishSignIn(proof: SecondFactorProof): Promise<User> {
  return enter(client.auth.secondFactor(proof));
}

/** Ends a sign-in that needs the second factor, with a passkey. @throws NotAdminError, SocleError, the browser's refusal. */
export async function finishWithPasskey(attempt: string): Promise<User> {
  return enter(client.auth.passkeys.secondFactor(attempt));
}

/** Makes the first admin with the token of the set-up link. @throws SocleError. */
export async function setUp(token: string, credentials: Credentials): Promise<User> {
  return enter(client.setUp(token, credentials));
}

export const signOut = leave;

export function useSession(): Session {
  return useStore(current);
}
