/** The page of notes: as the server reads the notes, and the actions of the forms. */
import { SocleError } from "@socle/client";
import { fail, redirect } from "@sveltejs/kit";
import { env } from "$env/dynamic/public";
import type { Actions, PageServerLoad } from "./$types";

export const load: PageServerLoad = async ({ locals: { socle } }) => {
  const baseUrl = env.PUBLIC_SOCLE_URL ?? "http://localhost:8090";
  const session = await socle.ready();
  if (session === null) return { baseUrl, user: null, notes: null };
  const [user, notes] = await Promise.all([socle.me(), socle.notes.orderBy("-createdAt").limit(50)]);
  return { baseUrl, user, notes };
};

/** The message that a form shows when the service refuses. */
function refusal(thrown: unknown) {
  if (!(thrown instanceof SocleError)) throw thrown;
  return fail(thrown.status || 503, { message: thrown.details[0]?.message ?? thrown.message });
}

export const actions: Actions = {
  async signIn({ request, locals: { socle } }) {
    const form = await request.formData();
    const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
    try {
      await (form.has("new") ? socle.register(credentials) : socle.login(credentials));
    } catch (thrown) {
      return refusal(thrown);
    }
    redirect(303, "/");
  },
  async add({ request, locals: { socle } }) {
    try {
      await socle.notes.create({ text: String((await request.formData()).get("text")) });
    } catch (thrown) {
      return refusal(thrown);
    }
    redirect(303, "/");
  },
  async signOut({ locals: { socle } }) {
    await socle.logout();
    redirect(303, "/");
  },
};
