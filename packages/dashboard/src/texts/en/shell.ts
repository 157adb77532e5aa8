/** Texts of the frame around the pages, of the shortcuts and the palette. */

export const shell = {
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
  failures: "Failures",
  logs: "Logs",
  events: "Events",
  sockets: "Live connections",
  mails: "Mails",
  backups: "Backups",
  keys: "Service keys",
  api: "API",
  settings: "Settings",
  fold: "Fold the menu",
  unfold: "Unfold the menu",
  search: "Go to …",
  account: "Your account",
  signOut: "Sign out",
  theme: "Theme",
  themes: { light: "Light", dark: "Dark", auto: "System" },
  shortcuts: "Keyboard shortcuts",
  sectionData: "Data",
  sectionCode: "Code",
  sectionService: "Service",
};

/** The bar of a service that refuses changes. */
export const readOnly = {
  title: "The service is read-only",
  end: "Accept changes again",
  ended: "The service accepts changes again",
  notEnded: "The service is still read-only",
};

export const shortcuts = {
  title: "Keyboard shortcuts",
  general: "General",
  goTo: "Go to",
  page: "On this page",
  help: "Show this list",
  palette: "Find a page, a collection or an action",
};

export const palette = {
  placeholder: "A page, a collection, an action …",
  nothing: "Nothing matches",
  pages: "Pages",
  collections: "Collections",
  actions: "Actions",
  newCollection: "New collection",
  diagram: "Diagram of all collections",
  newRecord: (collection: string) => `New record in ${collection}`,
  openRecords: (collection: string) => `Records of ${collection}`,
  openTab: (tab: string, collection: string) => `${tab} of ${collection}`,
  importInto: (collection: string) => `Import into ${collection}`,
  exportOf: (collection: string) => `Export ${collection}`,
  theme: (name: string) => `Theme: ${name}`,
  openSchema: (collection: string) => `Schema of ${collection}`,
};
