/** The page: the tasks of the signed-in user, or the form to sign in. */
import { SocleError } from "@socle/client";
import { data, Form, redirect } from "react-router";
import { publicUrl, socleContext } from "../lib/session.server";
import { tasksOf } from "../lib/socle";
import { TaskList } from "../lib/task-list";
import type { Route } from "./+types/home";

export const headers: Route.HeadersFunction = () => ({ "Cache-Control": "private, no-store" });

export async function loader({ context }: Route.LoaderArgs) {
  const socle = context.get(socleContext);
  if ((await socle.ready()) === null) return null;
  const [user, tasks] = await Promise.all([socle.me(), tasksOf(socle)]);
  return { user, tasks, publicUrl };
}

/** The forms: sign-in, registration, sign-out. */
export async function action({ request, context }: Route.ActionArgs) {
  const socle = context.get(socleContext);
  const form = await request.formData();
  const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
  try {
    const intent = form.get("intent");
    if (intent === "sign-out") await socle.logout();
    else if (intent === "register") await socle.register(credentials);
    else await socle.login(credentials);
  } catch (error) {
    if (error instanceof SocleError)
      return data({ message: Object.values(error.fields)[0] ?? error.message }, error.status);
    throw error;
  }
  return redirect("/");
}

export default function Home({ loaderData, actionData }: Route.ComponentProps) {
  if (loaderData === null)
    return (
      <Form method="post" action="/?index">
        <p>
          <label>
            Email <input name="email" type="email" required />
          </label>
        </p>
        <p>
          <label>
            Password <input name="password" type="password" required />
          </label>
        </p>
        <p>
          <button type="submit" name="intent" value="sign-in">
            Sign in
          </button>{" "}
          <button type="submit" name="intent" value="register">
            Register
          </button>
        </p>
        {actionData && <p role="alert">{actionData.message}</p>}
      </Form>
    );
  const { user, tasks, publicUrl } = loaderData;
  return (
    <>
      <Form method="post" action="/?index">
        <p>
          {user.email}{" "}
          <button type="submit" name="intent" value="sign-out">
            Sign out
          </button>
        </p>
      </Form>
      <TaskList key={user.id} publicUrl={publicUrl} userId={user.id} tasks={tasks} />
    </>
  );
}
