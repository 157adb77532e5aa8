/** The page: the tasks of the signed-in user, or the form to sign in. */
import { publicUrl } from "../lib/service";
import { requestClient } from "../lib/session";
import { tasksOf } from "../lib/socle";
import { signOut } from "./actions";
import { SignIn } from "./sign-in";
import { TaskList } from "./task-list";

export default async function Home() {
  const socle = await requestClient();
  if ((await socle.ready()) === null) return <SignIn />;
  const [user, tasks] = await Promise.all([socle.me(), tasksOf(socle)]);
  return (
    <>
      <form action={signOut}>
        <p>
          {user.email} <button type="submit">Sign out</button>
        </p>
      </form>
      <TaskList key={user.id} publicUrl={publicUrl} userId={user.id} tasks={tasks} />
    </>
  );
}
