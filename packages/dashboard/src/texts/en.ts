/** Every text of the dashboard, in English. A section belongs to one page or part; functions take what stands inside a text. */

/** "1 record", "2 records". */
function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? noun : plural}`;
}

export const en = {
  // ── common ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  common: {
    cancel: "Cancel",
    close: "Close",
    confirm: "Confirm",
    copied: "Copied",
    copy: "Copy",
    copyValue: (value: string) => `Copy ${value}`,
    create: "Create",
    delete: "Delete",
    edit: "Edit",
    loading: "Loading",
    more: "More",
    never: "never",
    none: "none",
    refresh: "Refresh",
    retry: "Try again",
    save: "Save",
    search: "Search",
    typeToConfirm: "To confirm, type",
    undo: "Undo",
  },
  errors: {
    title: "That did not work",
    offline: "The service does not answer. Check that it runs, and your connection.",
    inLog: "Find it in the log",
    retryAfter: (seconds: number) => `Try again in ${count(seconds, "second")}.`,
  },
  notFound: {
    title: "There is no such page",
    body: "The address may be mistyped, or what it showed is gone.",
    home: "Go to the overview",
  },

  // ── shell ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  shell: {
    skip: "Skip to the content",
    navigation: "Pages",
    openNavigation: "Show the pages",
    closeNavigation: "Hide the pages",
    overview: "Overview",
    collections: "Collections",
    users: "Users",
    storage: "Storage",
    functions: "Functions",
    jobs: "Jobs",
    logs: "Logs",
    events: "Events",
    settings: "Settings",
    search: "Go to …",
    account: "Your account",
    signOut: "Sign out",
    theme: "Theme",
    themeLight: "Light",
    themeDark: "Dark",
    themeSystem: "System",
    shortcuts: "Keyboard shortcuts",
    sectionData: "Data",
    sectionCode: "Code",
    sectionService: "Service",
  },
  shortcuts: {
    title: "Keyboard shortcuts",
    general: "General",
    goTo: "Go to",
    page: "On this page",
    help: "Show this list",
    palette: "Find a page, a collection or an action",
  },
  palette: {
    placeholder: "A page, a collection, an action …",
    nothing: "Nothing has that name",
    pages: "Pages",
    collections: "Collections",
    actions: "Actions",
    newCollection: "New collection",
    diagram: "Diagram of all collections",
    newRecord: (collection: string) => `New record in ${collection}`,
    openRecords: (collection: string) => `Records of ${collection}`,
    openSchema: (collection: string) => `Schema of ${collection}`,
  },

  // ── login and set-up ───────────────────────────────────────────────────────────────────────────────────────────────
  login: {
    pageTitle: "Sign in",
    title: "Sign in to Socle",
    email: "Email",
    password: "Password",
    submit: "Sign in",
    notAdmin: "This account is not an admin's. The dashboard is for admins only.",
    wrong: "The email or the password is wrong.",
    expiredTitle: "Your session has ended",
    expiredBody: "Sign in again to go on. Everything on the page stays as it is.",
    otherAccount: "Leave, and use another account",
    noAdmin: "No admin yet? The service prints a set-up link when it starts. On the command line:",
  },
  setup: {
    pageTitle: "Set up",
    title: "Welcome to Socle",
    body: "Make the first admin of this service. You will be signed in at once.",
    email: "Email",
    password: "Password",
    passwordHint: "At least 8 characters, unless the configuration asks for more.",
    submit: "Create the admin",
    checking: "The link is looked at",
    overTitle: "This link works no more",
    overBody:
      "There is an admin already, or the link is older than 30 minutes. A restart of the service prints a new one as long as there is no admin.",
    toLogin: "Go to the sign-in",
  },

  // ── overview ───────────────────────────────────────────────────────────────────────────────────────────────────────
  overview: {
    title: "Overview",
  },

  // ── collections ────────────────────────────────────────────────────────────────────────────────────────────────────
  collections: {
    title: "Collections",
    search: "Search collections",
    new: "New collection",
    diagram: "Diagram",
    records: (n: number) => count(n, "record"),
    nothingFound: "No collection has that name.",
    emptyTitle: "No collections yet",
    emptyBody:
      "A collection holds records of one kind: posts, customers, orders. It comes with a REST API, permissions and live events.",
    pick: "Choose a collection",
    pickBody: "Its records, its schema and its permissions are shown here.",
    list: "Collections",
  },

  // ── records ────────────────────────────────────────────────────────────────────────────────────────────────────────
  records: {
    title: "Records",
  },

  // ── import and export ──────────────────────────────────────────────────────────────────────────────────────────────
  import: {
    title: "Import",
  },

  // ── schema ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  schema: {
    title: "Schema",
    newTitle: "New collection",
  },
  diagram: {
    title: "Diagram",
  },

  // ── users ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  users: {
    title: "Users",
  },

  // ── storage ────────────────────────────────────────────────────────────────────────────────────────────────────────
  storage: {
    title: "Storage",
  },

  // ── functions ──────────────────────────────────────────────────────────────────────────────────────────────────────
  functions: {
    title: "Functions",
  },

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────
  jobs: {
    title: "Jobs",
  },

  // ── logs ───────────────────────────────────────────────────────────────────────────────────────────────────────────
  logs: {
    title: "Logs",
  },

  // ── events ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  events: {
    title: "Events",
  },

  // ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────
  settings: {
    title: "Settings",
  },
};
