/** The role of a user as a control: a question comes before a user gets or loses the admin role. */
import type { Role, User } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { Choice, confirmDanger, messageOf, nameOfUser, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";

interface UserRoleProps {
  user: User;
  isOwn: boolean;
  /** Called when the signed-in admin loses the admin role. */
  onOwnLoss: () => void;
}

export function UserRole({ user, isOwn, onOwnLoss }: UserRoleProps) {
  const change = useMutation({
    mutationFn: (role: Role) => afterRecentSignIn(() => client.admin.users.setRole(user.id, role)),
    onSuccess: async (_, role) => {
      if (isOwn && role !== "admin") return onOwnLoss();
      if (role === "admin") notifyDone(text.users.promoted(nameOfUser(user)));
      else if (user.role === "admin") notifyDone(text.users.demoted(nameOfUser(user)));
      else notifyDone(text.users.roleChanged(nameOfUser(user), text.users.roles[role]));
      return refreshUsers();
    },
  });
  const choose = (role: Role): void => {
    if (role === user.role) return;
    if (role !== "admin" && user.role !== "admin") {
      change.mutate(role);
      return;
    }
    const isPromotion = role === "admin";
    confirmDanger({
      title: isPromotion ? text.users.promoteTitle(nameOfUser(user)) : text.users.demoteTitle(nameOfUser(user)),
      body: isPromotion ? text.users.promoteBody : isOwn ? text.users.demoteSelf : text.users.demoteBody,
      action: isPromotion ? text.users.promoteAction : text.users.demoteAction,
      // The control shows a refusal.
      onConfirm: () => change.mutateAsync(role).catch(() => undefined),
    });
  };
  return (
    <Choice
      maw={320}
      aria-label={text.users.role}
      words={text.users.roles}
      value={change.isPending ? change.variables : user.role}
      onChange={choose}
      // A disabled input would lose the focus.
      readOnly={change.isPending}
      aria-busy={change.isPending}
      description={text.users.roleHints[user.role]}
      inputWrapperOrder={["input", "description", "error"]}
      error={change.error === null ? null : messageOf(change.error)}
      styles={{ wrapper: { width: 200 } }}
    />
  );
}
