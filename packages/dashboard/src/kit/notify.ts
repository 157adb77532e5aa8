/** Notifications at the edge of the window. */
import { notifications } from "@mantine/notifications";
import { text } from "../texts/index.ts";
import { messageOf } from "./states.tsx";

export function notifyDone(message: string): void {
  notifications.show({ message, color: "verdigris", autoClose: 3_000 });
}

/** Shows an error with its reason: `notifyError("The user was not deleted", error)`. */
export function notifyError(title: string, error: unknown): void {
  notifications.show({ title, message: messageOf(error), color: "red", autoClose: 10_000, role: "alert" });
}

/** For `onError` of mutations that have no place of their own for an error. */
export function notifyFailure(error: unknown): void {
  notifyError(text.errors.title, error);
}
