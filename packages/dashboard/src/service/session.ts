/**
 * The session of the admin who uses this tab. A session that expires leaves the page as it is: a form over it signs in
 * again, and what was typed stays.
 */
import type { Credentials, User } from "@socle/protocol";
import { useSyncExternalStore } from "react";
import { text } from "../texts/index.ts";
import { client, onTokens } from "./client.ts";

export type Session =
  | { readonly phase: "out" }
  | { readonly phase: "in"; readonly user: User }
  /** The user was signed in; the page waits for a new sign-in. */
  | { readonly phase: "expired"; readonly user: User };

/** A sign-in of somebody who is no admin. */
export class NotAdminError extends Error {
  override readonly name = "NotAdminError";

  constructor() {
    super(text.login.notAdmin);
  }
}

let session: Session = { phase: "out" };
let isLeaving = false;
const listeners = new Set<() => void>();

function set(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

onTokens((tokens) => {
  if (tokens === null && session.phase === "in" && !isLeaving) set({ phase: "expired", user: session.user });
});

async function enter(user: User): Promise<User> {
  if (user.role === "admin") {
    set({ phase: "in", user });
    return user;
  }
  await leave();
  throw new NotAdminError();
}

async function leave(): Promise<void> {
  isLeaving = true;
  try {
    await client.logout();
  } finally {
    isLeaving = false;
    set({ phase: "out" });
  }
}

/** Signs in again with the tokens of this tab, if there are any. Answers the user, or null. */
export async function restoreSession(): Promise<User | null> {
  if (session.phase !== "out") return session.user;
  if (client.accessToken === null) return null;
  try {
    return await enter(await client.me());
  } catch (error) {
    if (client.accessToken === null || error instanceof NotAdminError) return null;
    throw error;
  }
}

/** @throws NotAdminError, SocleError. */
export async function signIn(credentials: Credentials): Promise<User> {
  return enter(await client.login(credentials));
}

/** Makes the first admin with the token of the set-up link. @throws SocleError. */
export async function setUp(token: string, credentials: Credentials): Promise<User> {
  return enter(await client.setUp(token, credentials));
}

export const signOut = leave;

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );
}
