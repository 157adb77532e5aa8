/** The tracker: who is signed in, what is known of the service, and what the buttons do. `views.js` draws it. */

import { filter, SocleClient } from "/_/client.js";
import { $ } from "./dom.js";
import { Live } from "./live.js";
import { render } from "./views.js";

const kept = JSON.parse(localStorage.getItem("tokens") ?? "null");
const client = new SocleClient({
  baseUrl: location.origin,
  tokens: kept,
  onTokens: (tokens) => {
    if (tokens !== null) return localStorage.setItem("tokens", JSON.stringify(tokens));
    // Signed out, or the session was ended elsewhere.
    localStorage.removeItem("tokens");
    location.reload();
  },
});
// Another tab has renewed the tokens, or signed in or out.
addEventListener("storage", ({ key, newValue }) => {
  if (key !== "tokens") return;
  if (newValue === null || state.user === null) location.reload();
  else client.adoptTokens(JSON.parse(newValue));
});

/** Which part of it all is shown. */
const state = { user: null, workspace: null, project: "", issue: null };

const changed = () => render(page);
const live = Object.fromEntries(
  ["workspaces", "people", "projects", "issues", "comments", "invitations"].map((name) => [
    name,
    new Live(client, name, changed),
  ]),
);
live.members = new Live(client, "members", membershipChanged);
live.joins = new Live(client, "joins", joinChanged);

/**
 * A membership brings records into sight, or takes them out of it, and they have not changed: no event tells of them. So
 * lists are read anew.
 */
function membershipChanged({ before, after } = {}) {
  const isMine = (before ?? after)?.user === state.user.id;
  for (const name of isMine ? ["workspaces", "members", "people", "projects", "issues"] : ["people"])
    if (before !== undefined || after !== undefined) live[name].load();
  changed();
}

/** The answer to an invitation that was followed. */
function joinChanged({ after } = {}) {
  if (after?.outcome === "refused")
    $("wrong").textContent = "This invitation is over, was used already, or is for another email address.";
  if (after?.outcome) sessionStorage.removeItem("invitation");
}

/** The state and the actions that the views share. */
const page = {
  state,
  live,
  get workspace() {
    return live.workspaces.records.get(state.workspace);
  },
  get issue() {
    return live.issues.records.get(state.issue);
  },
  /** The caller's role in the workspace that is shown: owner, member or guest. */
  get role() {
    return page.members.find(({ user }) => user === state.user?.id)?.role;
  },
  get members() {
    return live.members.all.filter(({ workspace }) => workspace === state.workspace);
  },
  get projects() {
    return live.projects.all.filter(({ workspace }) => workspace === state.workspace);
  },
  nameOf: (user) => live.people.all.find((person) => person.user === user)?.name ?? "somebody",
  choose,
  openIssue,
  create: (name, values) => attempt(() => client.collection(name).create(values)),
  update: (name, id, values) => attempt(() => client.collection(name).update(id, values)),
  remove: (name, id) => attempt(() => client.collection(name).delete(id)),
};

/** Shows what went wrong in the dialog that is open, or in the page. Answers whether it went well. */
async function attempt(work) {
  const place = document.querySelector("dialog[open] .problem") ?? $("wrong");
  place.textContent = "";
  try {
    await work();
    return true;
  } catch (error) {
    place.textContent = error.details?.map(({ message }) => message).join("; ") ?? error.message;
    changed();
    return false;
  }
}

/** Shows a workspace. Its issues are asked for, and no others. */
function choose(workspace) {
  state.workspace = workspace;
  state.project = "";
  const isHere = ({ project }) => live.projects.records.get(project)?.workspace === workspace;
  live.issues.show(filter`project.workspace = ${workspace}`, isHere);
  changed();
}

function openIssue(id) {
  state.issue = id;
  live.comments.show(filter`issue = ${id}`, ({ issue }) => issue === id);
  changed();
}

// ---- Forms. What was made comes back as an event, like everybody else's changes.

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
  const project = state.project || page.projects[0].id;
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
onSubmit(signInForm, async ({ email, password, name }) => {
  const isIn = await attempt(() => client[isNew ? "register" : "login"]({ email, password }));
  if (isIn) {
    signIn.close();
    await attempt(() => enter(name));
  }
  return isIn;
});

$("sign-out").onclick = () => attempt(() => client.logout());

/** The page of somebody who is signed in. */
async function enter(name) {
  state.user = await client.me();
  const own = await client.collection("people").page({ filter: "user = @user.id" });
  if (own.items.length === 0)
    await client.collection("people").create({ name: name || state.user.email.split("@")[0].slice(0, 40) });
  for (const list of Object.values(live)) list.start();
  const token = sessionStorage.getItem("invitation");
  if (token !== null) await client.collection("joins").create({ token });
  changed();
}

// A link of an invitation: /#join=TOKEN. The token leaves the address, and waits until somebody is signed in.
function followInvitation() {
  const token = new URLSearchParams(location.hash.slice(1)).get("join");
  if (token === null) return;
  history.replaceState(null, "", location.pathname);
  sessionStorage.setItem("invitation", token);
  if (state.user !== null) page.create("joins", { token });
}

addEventListener("hashchange", followInvitation);
followInvitation();
if (kept === null) showSignIn();
else attempt(() => enter());
