/** Actions of the forms: sign-in, registration, sign-out. */

import { type ActionAPIContext, ActionError, defineAction } from "astro:actions";
import { SocleError } from "@socle/client";

/** Signs in by the form of the page. */
function entering(enter: "login" | "register") {
  return defineAction({
    accept: "form",
    async handler(form: FormData, { locals: { socle } }: ActionAPIContext) {
      try {
        await socle[enter]({ email: String(form.get("email")), password: String(form.get("password")) });
      } catch (error) {
        if (!(error instanceof SocleError)) throw error;
        throw new ActionError({
          code: ActionError.statusToCode(error.status),
          message: Object.values(error.fields)[0] ?? error.message,
        });
      }
    },
  });
}

export const server = {
  signIn: entering("login"),
  register: entering("register"),
  signOut: defineAction({ accept: "form", handler: (_form, { locals: { socle } }) => socle.logout() }),
};
