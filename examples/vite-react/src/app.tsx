/** The app: the tasks of the signed-in user, or the form to sign in. */
import { useAuth } from "@socle/react";
import { SignIn } from "./sign-in";
import { socle } from "./socle";
import { TaskList } from "./task-list";

export function App() {
  const { user, status } = useAuth(socle);
  if (user === null) return status === "loading" ? null : <SignIn />;
  return (
    <>
      <p>
        {user.email}{" "}
        <button type="button" onClick={() => socle.logout()}>
          Sign out
        </button>
      </p>
      <TaskList key={user.id} />
    </>
  );
}
