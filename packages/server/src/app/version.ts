import packageJson from "../../package.json" with { type: "json" };

/** The version of this executable. */
export const version: string = packageJson.version;
