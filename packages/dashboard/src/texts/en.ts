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

  // ── record editor ──────────────────────────────────────────────────────────────────────────────────────────────────
  editor: {
    newRecord: (collection: string) => `New record in ${collection}`,
    record: (collection: string) => `Record of ${collection}`,
    created: "Created",
    updated: "Updated",
    owner: "Owner",
    noOwner: "nobody",
    fields: "Fields",
    json: "JSON",
    events: "Events",
    saved: "The record is saved.",
    savedNew: "The record is created.",
    savedState: "Saved",
    deleted: "The record is deleted.",
    deleteTitle: "Delete this record?",
    deleteBody: (name: string) => `${name} is deleted for good. Records that point to it keep its id.`,
    deleteAction: "Delete record",
    noChanges: "No changes",
    changes: (n: number) => count(n, "changed field"),
    reset: (field: string) => `Reset ${field}`,
    noFields: "This collection has no fields.",
    editSchema: "Open the schema",
    notSaved: "The record was not saved",
    sessionEnded: "The session had ended. Nothing is lost: sign in, and save again.",
    problemsBelow: (n: number) =>
      n === 1 ? "1 field cannot be saved as it is." : `${n} fields cannot be saved as they are.`,
    gone: "This record is gone",
    goneBody: "It was deleted, or its address is mistyped.",
    goneElsewhere: "This record was deleted elsewhere",
    goneElsewhereBody: "Its values are still here. Save makes a new record of them, with a new id.",
    saveCopy: "Save as a new record",
    changedElsewhere: "Changed elsewhere",
    conflictTitle: "This record was changed elsewhere",
    conflictBody: (names: string) => `You have changed the same: ${names}.`,
    takeTheirs: "Take over their values",
    keepMine: "Keep mine",
    theirs: "Theirs:",
    draftOf: "Unsaved changes of",
    restore: "Restore",
    discard: "Discard",
    draftKept: "Your changes are kept as a draft.",
    draftTooLarge: "These changes are too large to be kept as a draft. Save them before you close.",
    closeTitle: "Close without saving?",
    closeBody: "The changes are too large to be kept as a draft, and would be lost.",
    closeAction: "Discard the changes",
    required: "required",
    empty: "empty",
    notSet: "null",
    clear: (field: string) => `Set ${field} to null`,
    length: (length: number, max: number) => `${length.toLocaleString()} of ${max.toLocaleString()} characters`,
    problems: {
      notANumber: "This is no number.",
      notWhole: "This is no whole number.",
      tooLarge: "This number is too large: its last digits would be lost.",
      notADateTime: "This is no date or time. Write 2026-03-01 09:30:00, or paste RFC 3339.",
      notJson: "This is no JSON yet.",
    },
    storedAs: (value: string) => `Is stored as ${value}.`,
    largeText: (size: string) => `This text has ${size}. The beginning is shown.`,
    download: "Download",
    editAnyway: "Edit anyway",
    yes: "Yes",
    no: "No",
    null: "null",
    notChosen: "not chosen",
    pickTime: (field: string) => `Choose the time of ${field}`,
    zone: "Time zone",
    local: "Local",
    utc: "UTC",
    now: "Now",
    timePlaceholder: "YYYY-MM-DD hh:mm:ss",
    calendar: {
      previousMonth: "Previous month",
      nextMonth: "Next month",
      previousYear: "Previous year",
      nextYear: "Next year",
      previousDecade: "Previous decade",
      nextDecade: "Next decade",
      hours: "Hours",
      minutes: "Minutes",
      seconds: "Seconds",
      submit: "Take this time",
    },
    choose: "Choose …",
    searchOrPaste: "Search, or paste an id",
    searching: "Searching",
    searchFailed: "The search failed:",
    nothingFound: "Nothing is found.",
    newestShown: (n: number) => `The newest ${n} are shown. Search for others.`,
    firstShown: (n: number) => `The first ${n} are shown. Search for more of the name.`,
    openTargetOf: (field: string) => `Open the record of ${field}`,
    dangling: "There is no such record any more.",
    unknownCollection: (name: string) => `There is no collection ${name}.`,
    preview: (field: string) => `Preview of ${field}`,
    upload: "Upload a file",
    uploadAs: "as",
    dropHere: "or drop one here, at most 10 MiB",
    visibility: "Visibility of the upload",
    protected: "Protected",
    public: "Public",
    chooseFile: "Choose a stored file",
    uploading: (name: string) => `${name} is uploaded`,
    cancelUpload: "Cancel the upload",
    uploadFailed: (name: string) => `${name} was not uploaded:`,
    fileTooLarge: (name: string, size: string) => `${name} has ${size}. A file may have 10 MiB.`,
    oneFile: "One file fits here. Drop a single one.",
    replace: "Replace",
    fileGone: "There is no such file any more.",
    fileUnknown: "Its name and size could not be read.",
    imageOf: (name: string) => `Preview of ${name}`,
    copyJson: "Copy the record",
    savedJson: "As it is saved. Unsaved changes are not in it.",
    eventKinds: { created: "created", updated: "updated", deleted: "deleted" },
    byNobody: "by nobody who is signed in",
    by: "by",
    eventsNone: "The log holds no event of this record.",
    eventsSearched: (events: number) => `${count(events, "event")} of the collection looked at`,
    eventsBackTo: "back to",
    eventsAll: "to the beginning of the record",
    eventsEnd: "to the beginning of the log",
    eventsMore: "Look further back",
    eventsFull: "The newest 50 are shown.",
    noFieldChanged: "No field changed.",
    beforeUnknown: "An older event would be needed to say what changed.",
    unknownBefore: "not known",
    moreChanges: (n: number) => `and ${count(n, "more field")}`,
    format: "Format",
    jsonEditor: "JSON",
    jsonAt: (line: number, column: number) => `Line ${line}, column ${column}`,
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
