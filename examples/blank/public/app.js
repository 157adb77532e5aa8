// @ts-check
/** The page: the notes of everybody, live, and a sign-in that stays. */
import { createClient, live, SocleError } from "/_/client.js";

/** @typedef {{ collections: Collections; endpoints: {}; queries: Queries }} Project */
const socle = /** @type {import("/_/client.js").Socle<Project>} */ (createClient({ live }));

const [signIn, add] = /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll("form")]);
const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Does the work of a button, and shows the messages of the service if the service refuses. */
async function attempt(/** @type {() => Promise<unknown>} */ work) {
  place("problem").textContent = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SocleError)) throw error;
    // The messages by field; other refusals have one message.
    place("problem").textContent = Object.values(error.fields).join("; ") || error.message;
  }
}

/** Shows the forms of the present session: null for nobody. Called after sign-ins and sign-outs of all tabs. */
function showSession() {
  const isSignedIn = Boolean(socle.session.get());
  signIn.hidden = isSignedIn;
  add.hidden = !isSignedIn;
}
socle.session.subscribe(showSession);
showSession();

signIn.onsubmit = (event) => {
  event.preventDefault();
  const isNew = event.submitter?.getAttribute("value") === "register";
  const { email, password } = Object.fromEntries(new FormData(signIn));
  const credentials = { email: String(email), password: String(password) };
  attempt(() => (isNew ? socle.register(credentials) : socle.login(credentials)));
};
place("sign-out").onclick = () => attempt(() => socle.logout());

add.onsubmit = (event) => {
  event.preventDefault();
  const title = String(new FormData(add).get("title"));
  attempt(() => socle.notes.create({ title }, { optimistic: true }).then(() => add.reset()));
};

// The service keeps the list right: each change of anybody calls the function with the new list.
socle.notes
  .orderBy("-createdAt")
  .limit(50)
  .live(({ items, status }) => {
    place("status").textContent = status;
    place("notes").replaceChildren(
      ...items.map(({ id, title, done }) => {
        const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: done ?? false });
        box.onchange = () => attempt(() => socle.notes.update(id, { done: box.checked }, { optimistic: true }));
        const label = document.createElement("label");
        // Text goes in as text: a title is never markup.
        label.append(box, ` ${title}`);
        const item = document.createElement("li");
        item.append(label);
        return item;
      }),
    );
  });
