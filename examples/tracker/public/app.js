/** The tracker: who is signed in, what is known of the service, and what the buttons do. `views.js` draws it. */

import { createClient, live } from "/_/client.js";
import { $ } from "./dom.js";
import { render } from "./views.js";

const socle = createClient({ live });
// A sign-in or the end of a session, here or in another tab.
socle.session.subscribe((session) => {
  if (session === null || state.user !== null) return location.reload();
  signIn.close();
  attempt(enter);
});

socle.connection.subscribe((connection) => {
  $("connection").textContent = connection === "offline" ? "offline, reconnecting" : "";
});

/** Which part of it all is shown. */
const state = { user: null, workspace: null, project: "", issue: null };

/** The records that are shown, by collection. The service keeps each list right, also when a membership begins or ends. */
const nothing = { items: [], status: "loading" };
const ofWorkspace = ["projects", "members", "issues", "invitations"];
const lists = Object.fromEntries(["workspaces", "people", "comments", ...ofWorkspace].map((name) => [name, nothing]));
const stops = {};

/** Shows the records of a query from now on; without a query, nothing. */
function show(name, query) {
  stops[name]?.();
  lists[name] = nothing;
  stops[name] = query?.live((list) => {
    lists[name] = list;
    changed();
  });
}

let isDue = false;
function changed() {
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    render(page);
  });
}

/** The state and the actions that the views share. */
const page = {
  state,
  lists,
  get workspace() {
    return lists.workspaces.items.find(({ id }) => id === state.workspace);
  },
  get issue() {
    return lists.issues.items.find(({ id }) => id === state.issue);
  },
  /** The caller's role in the workspace that is shown: owner, member or guest; undefined until it is known. */
  get role() {
    return lists.members.items.find(({ user }) => user === state.user?.id)?.role;
  },
  nameOf: (user) => lists.people.items.find((person) => person.user === user)?.name ?? "somebody",
  choose,
  openIssue,
  create: (name, values) => attempt(() => socle[name].create(values)),
  update: (name, id, values) => attempt(() => socle[name].update(id, values, { optimistic: true })),
  remove: (name, id) => attempt(() => socle[name].delete(id, { optimistic: true })),
};

/** Shows what went wrong in the dialog that is open, or in the page. Answers whether it went well. */
async function attempt(work) {
  const place = document.querySelector("dialog[open] .problem") ?? $("wrong");
  place.textContent = "";
  try {
    await work();
    return true;
  } catch (error) {
    place.textContent = error.details?.map(({ message }) => message).join("; ") || error.message;
    changed();
    return false;
  }
}

/** Shows a workspace. The records of the workspace are asked for, and no others. */
function choose(workspace) {
  state.workspace = workspace;
  state.project = "";
  const queries = workspace !== null && {
    projects: socle.projects.where({ workspace }).orderBy("name"),
    members: socle.members.where({ workspace }),
    issues: socle.issues.where({ project: { workspace } }),
    invitations: socle.invitations.where({ workspace }),
  };
  for (const name of ofWorkspace) show(name, queries[name]);
  changed();
}

function openIssue(id) {
  state.issue = id;
  show("comments", id === null ? undefined : socle.comments.where({ issue: id }).orderBy("createdAt", "id"));
  changed();
}

// ---- Forms. What was made comes with the list, like everybody else's changes.

function onSubmit(form, work) {
  form.onsubmit = async (event) => {
    event.preventDefault();
    const button = form.querySelector('[type="submit"]');
    button.disabled = true;
    const values = Object.fromEntries(new FormData(form));
    if (await work(values)) form.reset();
    button.disabled = false;
  };
}

onSubmit($("new-workspace"), ({ name }) => page.create("workspaces", { name }));
onSubmit($("new-project"), ({ name }) => page.create("projects", { name, workspace: state.workspace }));
onSubmit($("new-issue"), ({ title }) => {
  const project = state.project || lists.projects.items[0].id;
  return page.create("issues", { title, project });
});
onSubmit($("new-comment"), ({ text }) => page.create("comments", { text, issue: state.issue }));
onSubmit($("new-invitation"), ({ email, role }) =>
  page.create("invitations", { workspace: state.workspace, role, email: email.trim() || null }),
);

$("project").onchange = ({ target }) => {
  state.project = target.value;
  changed();
};
$("show-members").onclick = () => {
  $("members").showModal();
  changed();
};
for (const button of document.querySelectorAll("dialog .close"))
  button.onclick = () => button.closest("dialog").close();
$("issue").onclose = () => openIssue(null);

// An issue is saved field by field: two people who change different fields do not undo each other.
const issueForm = $("issue").querySelector("form");
issueForm.onsubmit = (event) => event.preventDefault();
issueForm.onchange = ({ target }) => {
  const isText = target.name === "title" || target.name === "description";
  page.update("issues", state.issue, { [target.name]: target.value === "" && !isText ? null : target.value });
};
$("delete-issue").onclick = () => page.remove("issues", state.issue);

// ---- Signing in and out.

const signIn = $("sign-in");
const signInForm = signIn.querySelector("form");
let isNew = false;
let chosenName = "";

function showSignIn() {
  $("sign-in-title").textContent = isNew ? "Make an account" : "Sign in";
  signInForm.querySelector('[type="submit"]').textContent = isNew ? "Make an account" : "Sign in";
  $("other-way").textContent = isNew ? "I have an account" : "I am new here";
  $("name-label").hidden = !isNew;
  signInForm.name.required = isNew;
  if (!signIn.open) signIn.showModal();
}

$("other-way").onclick = () => {
  isNew = !isNew;
  showSignIn();
};
// Nothing is there for who is not signed in.
signIn.oncancel = (event) => event.preventDefault();
onSubmit(signInForm, ({ email, password, name }) => {
  chosenName = name;
  return attempt(() => socle[isNew ? "register" : "login"]({ email, password }));
});

$("sign-out").onclick = () => attempt(() => socle.logout());

/** The page of somebody who is signed in. */
async function enter() {
  state.user = await socle.me();
  if ((await socle.people.where({ user: state.user.id }).count()) === 0)
    await socle.people.create({ name: chosenName || state.user.email.split("@")[0].slice(0, 40) });
  show("workspaces", socle.workspaces.orderBy("name"));
  show("people", socle.people);
  changed();
  await join();
}

/** Follows the invitation that waits, and shows the answer. */
async function join() {
  const token = sessionStorage.getItem("invitation");
  if (token === null) return;
  const { id } = await socle.joins.create({ token });
  const stop = socle.joins.where({ id }).live(({ items: [answer] }) => {
    if (!answer?.outcome) return;
    stop();
    sessionStorage.removeItem("invitation");
    if (answer.outcome === "refused")
      $("wrong").textContent = "This invitation is over, was used already, or is for another email address.";
  });
}

// A link of an invitation: /#join=TOKEN. The token leaves the address, and waits until somebody is signed in.
function followInvitation() {
  const token = new URLSearchParams(location.hash.slice(1)).get("join");
  if (token === null) return;
  history.replaceState(null, "", location.pathname);
  sessionStorage.setItem("invitation", token);
  if (state.user !== null) attempt(join);
}

addEventListener("hashchange", followInvitation);
followInvitation();
if (socle.session.get() === null) showSignIn();
else attempt(enter);
