/** Actions of the forms: sign-in, registration, sign-out. */
"use server";

import { SocleError } from "@socle/client";
import { redirect } from "next/navigation";
import { requestClient } from "../lib/session";

/** Signs in or registers, by the button. Answers the message for the form if the service refuses. */
export async function enter(_before: string | null, form: FormData): Promise<string | null> {
  const socle = await requestClient();
  const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
  try {
    if (form.get("intent") === "register") await socle.register(credentials);
    else await socle.login(credentials);
  } catch (error) {
    if (error instanceof SocleError) return Object.values(error.fields)[0] ?? error.message;
    throw error;
  }
  redirect("/");
}

export async function signOut() {
  const socle = await requestClient();
  await socle.logout();
  redirect("/");
}
