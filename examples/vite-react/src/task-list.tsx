/** The tasks of the signed-in user, live: the service keeps the list right, also after a change of another tab. */
import { useLive, useMutation } from "@socle/react";
import { useState } from "react";
import { socle } from "./socle";

const newest = socle.tasks.orderBy("-createdAt").limit(50);

export function TaskList() {
  const { items, status } = useLive(newest);
  const [title, setTitle] = useState("");
  const [create, { fields }] = useMutation(() => socle.tasks.create({ title, done: false }, { optimistic: true }));

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
