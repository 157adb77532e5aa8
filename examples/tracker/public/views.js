/** How the tracker looks: the page is drawn anew from what is known, after each change. */
import { $, choices, el, fill, set } from "./dom.js";

const statuses = [
  { status: "todo", title: "To do", next: "doing", action: "Start" },
  { status: "doing", title: "In progress", next: "done", action: "Close" },
  { status: "done", title: "Done", next: "todo", action: "Reopen" },
];
const roles = [
  ["owner", "Owner"],
  ["member", "Member"],
  ["guest", "Guest"],
];
const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
/** A guest comments; until the role is known, so does anybody. */
const isGuest = ({ role }) => role !== "owner" && role !== "member";

export function render(page) {
  const { state, lists, workspace } = page;
  const isIn = state.user !== null;
  document.querySelector("nav").hidden = !isIn;
  $("sign-out").hidden = !isIn;
  if (!isIn) return;
  $("me").textContent = page.nameOf(state.user.id);
  $("me").title = state.user.email;
  // The workspace that was shown is gone, or no longer ours.
  const [first] = lists.workspaces.items;
  if (workspace === undefined && first?.id !== (state.workspace ?? undefined)) return page.choose(first?.id ?? null);
  renderWorkspaces(page);
  const hint = "You are in no workspace yet. Make one, or follow the link of an invitation.";
  const needsProject = lists.projects.status === "live" && lists.projects.items.length === 0 && !isGuest(page);
  $("hint").textContent = workspace === undefined ? hint : needsProject ? "Add a project, and then its issues." : "";
  $("workspace").hidden = workspace === undefined;
  if (workspace !== undefined) renderWorkspace(page);
  renderIssue(page);
  renderMembers(page);
}

function renderWorkspaces({ state, lists, choose }) {
  const buttons = lists.workspaces.items.map(({ id, name }) => {
    const onclick = () => choose(id);
    return el(
      "button",
      { type: "button", key: id, title: name, onclick, aria: { current: id === state.workspace } },
      name,
    );
  });
  fill($("workspaces"), ...buttons);
}

function renderWorkspace(page) {
  const { state, lists } = page;
  const projects = lists.projects.items;
  $("workspace-name").textContent = page.workspace.name;
  const named = projects.map(({ id, name }) => [id, name]);
  if (!projects.some(({ id }) => id === state.project)) state.project = "";
  choices($("project"), [["", "All"], ...named], state.project);
  $("new-project").hidden = isGuest(page);
  $("new-issue").hidden = isGuest(page) || projects.length === 0;
  const issues = lists.issues.items.filter(({ project }) => state.project === "" || project === state.project);
  fill($("board"), ...statuses.map((column) => columnOf(page, column, issues)));
}

function columnOf(page, { status, title, next, action }, issues) {
  const cards = issues
    .filter((issue) => issue.status === status)
    .map((issue) => {
      const { id } = issue;
      const foot = [
        el("span", {}, `${projectName(page, issue)}${issue.assignee ? ` · ${page.nameOf(issue.assignee)}` : ""}`),
      ];
      const move = { type: "button", key: `${id} move`, aria: { label: `${action} “${issue.title}”` } };
      if (!isGuest(page))
        foot.push(el("button", { ...move, onclick: () => page.update("issues", id, { status: next }) }, action));
      const open = el(
        "button",
        { type: "button", className: "open", key: id, onclick: () => page.openIssue(id) },
        issue.title,
      );
      return el("li", { className: "card" }, open, el("div", { className: "foot" }, ...foot));
    });
  const heading = el("h3", {}, title, el("span", { className: "quiet" }, String(cards.length)));
  return el("section", { className: `column ${status}`, aria: { label: title } }, heading, el("ul", {}, ...cards));
}

function projectName({ lists }, { project }) {
  return lists.projects.items.find(({ id }) => id === project)?.name ?? "";
}

function renderIssue(page) {
  const { issue, lists } = page;
  const dialog = $("issue");
  if (issue === undefined) {
    if (dialog.open) dialog.close();
    return;
  }
  if (!dialog.open) dialog.showModal();
  const { elements } = dialog.querySelector("form");
  set(elements.title, issue.title);
  set(elements.description, issue.description ?? "");
  choices(
    elements.status,
    statuses.map(({ status, title }) => [status, title]),
    issue.status,
  );
  choices(
    elements.project,
    lists.projects.items.map(({ id, name }) => [id, name]),
    issue.project,
  );
  const people = lists.members.items.map(({ user }) => [user, page.nameOf(user)]);
  choices(elements.assignee, [["", "Nobody"], ...people], issue.assignee ?? "");
  for (const element of elements) element.disabled = isGuest(page) && !element.classList.contains("close");
  $("delete-issue").hidden = page.role !== "owner";
  $("about").textContent = `Made by ${page.nameOf(issue.author)}, ${when.format(new Date(issue.createdAt))}`;
  const comments = lists.comments.items.map(({ text, author, createdAt }) => {
    const head = `${page.nameOf(author)}, ${when.format(new Date(createdAt))}`;
    return el("li", {}, el("span", { className: "quiet" }, head), el("p", {}, text));
  });
  fill($("comments"), ...comments);
}

function renderMembers(page) {
  const { lists, role } = page;
  const dialog = $("members");
  if (role === undefined && dialog.open) dialog.close();
  fill($("member-list"), ...lists.members.items.map((member) => memberItem(page, member)));
  $("inviting").hidden = role !== "owner";
  fill($("invitations"), ...lists.invitations.items.map((invitation) => invitationItem(page, invitation)));
}

function memberItem(page, { id, user, role }) {
  const name = page.nameOf(user);
  const isMe = user === page.state.user.id;
  const parts = [el("span", {}, isMe ? `${name} (you)` : name)];
  if (page.role === "owner" && !isMe) {
    const select = el("select", { key: `${id} role`, aria: { label: `Role of ${name}` } });
    choices(select, roles, role);
    select.onchange = () => page.update("members", id, { role: select.value });
    parts.push(select);
  } else parts.push(el("span", { className: "quiet" }, role));
  const action = isMe ? "Leave" : "Remove";
  if (isMe ? role !== "owner" : page.role === "owner") {
    const onclick = () => page.remove("members", id);
    parts.push(
      el("button", { type: "button", key: `${id} remove`, aria: { label: `${action} ${name}` }, onclick }, action),
    );
  }
  return el("li", {}, ...parts);
}

function invitationItem(page, { id, email, role, token, expiresAt }) {
  if (token === null) return el("li", { className: "quiet" }, "The link is being made …");
  const link = `${location.origin}/#join=${token}`;
  const until = when.format(new Date(expiresAt));
  const text = el("span", {}, `${email ?? "Whoever has the link"}, as ${role}, until ${until}`);
  const copy = el(
    "button",
    { type: "button", key: `${id} copy`, onclick: () => navigator.clipboard.writeText(link) },
    "Copy",
  );
  const parts = [text, copy];
  if (email !== null) {
    const subject = encodeURIComponent(`Come to ${page.workspace.name}`);
    parts.push(
      el(
        "a",
        { href: `mailto:${encodeURIComponent(email)}?subject=${subject}&body=${encodeURIComponent(link)}` },
        "Write",
      ),
    );
  }
  parts.push(
    el("button", { type: "button", key: `${id} revoke`, onclick: () => page.remove("invitations", id) }, "Revoke"),
  );
  return el(
    "li",
    {},
    ...parts,
    el("input", { readOnly: true, value: link, aria: { label: "Link of the invitation" } }),
  );
}
