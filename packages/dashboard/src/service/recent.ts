/** Changes of credentials, which the service takes only after a sign-in of the last ten minutes: the frame asks for a sign-in, and the change goes on. */
import { SocleError } from "@socle/client";
import { Store, useStore } from "./store.ts";

/** The question that is open: told whether the admin has signed in. */
interface Question {
  readonly answer: (isSignedIn: boolean) => void;
  readonly answered: Promise<boolean>;
}

const open = new Store<Question | null>(null);

/** Whether the service has refused a request because the sign-in is too old. */
function isTooOld(error: unknown): boolean {
  return error instanceof SocleError && error.details.some(({ rule }) => rule === "recent_login");
}

/** Asks for a sign-in; changes at the same time share the question. Answers whether the admin has signed in. */
function ask(): Promise<boolean> {
  const asked = open.get();
  if (asked !== null) return asked.answered;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const answer = (isSignedIn: boolean): void => {
    open.set(null);
    resolve(isSignedIn);
  };
  open.set({ answer, answered: promise });
  return promise;
}

/** Sends a change, and a second time after a new sign-in if the service asks for one. @throws the error of the request. */
export async function afterRecentSignIn<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!isTooOld(error) || !(await ask())) throw error;
    return send();
  }
}

/** The open question, for the frame. */
export function useSignInQuestion(): Question | null {
  return useStore(open);
}
