/** The link back to the list of collections, for screens too narrow to show the list beside the page. */
import { ActionIcon } from "@mantine/core";
import { IconChevronLeft } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { text } from "../../texts/index.ts";

export function BackToCollections() {
  return (
    <ActionIcon
      component={Link}
      to="/collections"
      variant="subtle"
      color="gray"
      hiddenFrom="md"
      aria-label={text.records.toCollections}
      ml={-6}
    >
      <IconChevronLeft size={18} />
    </ActionIcon>
  );
}
