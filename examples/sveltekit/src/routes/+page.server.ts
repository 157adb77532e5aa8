/** The page on the server: reads the tasks of the signed-in user, signs in and signs out. */
import { SocleError } from "@socle/client";
import { fail, redirect } from "@sveltejs/kit";
import { publicUrl } from "../lib/service.server";
import { tasksOf } from "../lib/socle";
import type { Actions, PageServerLoad } from "./$types";

export const load: PageServerLoad = async ({ locals: { socle }, setHeaders }) => {
  setHeaders({ "Cache-Control": "private, no-store" });
  if ((await socle.ready()) === null) return { page: null };
  const [user, tasks] = await Promise.all([socle.me(), tasksOf(socle)]);
  return { page: { user, tasks, publicUrl } };
};

/** Signs in by the form of the page. */
function entering(enter: "login" | "register"): Actions[string] {
  return async ({ request, locals: { socle } }) => {
    const form = await request.formData();
    try {
      await socle[enter]({ email: String(form.get("email")), password: String(form.get("password")) });
    } catch (error) {
      if (error instanceof SocleError)
        return fail(error.status, { message: Object.values(error.fields)[0] ?? error.message });
      throw error;
    }
    redirect(303, "/");
  };
}

export const actions: Actions = {
  signIn: entering("login"),
  register: entering("register"),
  async signOut({ locals: { socle } }) {
    await socle.logout();
    redirect(303, "/");
  },
};
