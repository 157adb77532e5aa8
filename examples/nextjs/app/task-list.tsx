/** The tasks of the signed-in user, live: the list begins with what the server has read. */
"use client";

import { useLive, useMutation } from "@socle/react";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";
import { pageClient, type Tasks, tasksOf } from "../lib/socle";

interface Props {
  publicUrl: string;
  userId: string;
  tasks: Tasks;
}

export function TaskList({ publicUrl, userId, tasks }: Props) {
  const socle = pageClient(publicUrl, userId);
  const { items, status } = useLive(tasksOf(socle), { initial: tasks });
  const [title, setTitle] = useState("");
  const [create, { fields }] = useMutation(() => socle.tasks.create({ title, done: false }, { optimistic: true }));

  // A sign-out of another tab ends the session of this tab, too.
  const { refresh } = useRouter();
  useEffect(() => socle.session.subscribe((session) => session === null && refresh()), [socle, refresh]);

  const add = () =>
    create().then(
      () => setTitle(""),
      () => undefined,
    );

  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <label>
          Title <input value={title} onChange={({ target }) => setTitle(target.value)} required />
        </label>{" "}
        <button type="submit">Add</button> {fields["title"] && <span role="alert">Title {fields["title"]}</span>}
      </form>
      <p>
        The list is <output>{status}</output>.
      </p>
      <ul>
        {items.map(({ id, title, done }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={done ?? false}
                onChange={() => socle.tasks.update(id, { done: !done }, { optimistic: true })}
              />{" "}
              {title}
            </label>
          </li>
        ))}
      </ul>
    </>
  );
}
