// What the address of the screen may say. Apart from its route, which is part of the first load.
export const UPLOAD_TABS = ["places"] as const;
export const DELIMITERS = ["comma", "semicolon", "tab", "bar"] as const;
export const FILE_STATES = ["seen", "submitting", "submitted", "duplicate", "refused", "gone"] as const;
