// Links within the pages, in the look of their surroundings and with their addresses checked by the compiler.
import { Anchor, Button, type AnchorProps, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { Ref } from "react";

type Reference = { ref?: Ref<HTMLAnchorElement> };

/** `<GoTo to="/jobs/$jobId" params={{ jobId: "7" }}>`; parameters of paths are text. */
export const GoTo = createLink((props: Omit<AnchorProps, "href"> & Reference) => <Anchor {...props} />);

/** A link that looks like a button: it leads somewhere and changes nothing. */
export const GoToButton = createLink((props: Omit<ButtonProps, "href"> & Reference) => <Button component="a" {...props} />);
