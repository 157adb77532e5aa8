/** The visibility that an upload gets in the form of a collection: a file beside records that everybody reads is public. */
import type { CollectionEntry, Visibility } from "@socle/protocol";
import { createContext, useContext } from "react";
import { text } from "../../../texts/index.ts";

export interface UploadVisibility {
  readonly visibility: Visibility;
  /** Why, in one sentence. */
  readonly reason: string;
}

export function uploadVisibilityOf({
  name,
  permissions,
}: Pick<CollectionEntry, "name" | "permissions">): UploadVisibility {
  // Without a rule, reading is open to everybody.
  return (permissions?.read ?? "public") === "public"
    ? { visibility: "public", reason: text.editor.uploadPublic(name) }
    : { visibility: "protected", reason: text.editor.uploadProtected(name) };
}

const Context = createContext<UploadVisibility>({ visibility: "protected", reason: "" });

export const UploadVisibilityProvider = Context.Provider;

export function useUploadVisibility(): UploadVisibility {
  return useContext(Context);
}
