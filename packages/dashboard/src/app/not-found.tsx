/** The page for an address that no page has. */
import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { text } from "../texts/index.ts";

export function NotFoundPage() {
  return (
    <Center h="100%" p="xl" component="main">
      <Stack align="center" gap="sm">
        <Title order={1} size="h3">
          {text.notFound.title}
        </Title>
        <Text c="dimmed">{text.notFound.body}</Text>
        <Button component={Link} to="/" variant="light">
          {text.notFound.home}
        </Button>
      </Stack>
    </Center>
  );
}
