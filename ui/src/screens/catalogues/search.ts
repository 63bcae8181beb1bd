// What the addresses of the screens may say. Apart from their routes, which are part of the first load.
export const CATALOGUE_TABS = ["providers"] as const;
export const PRODUCT_STATES = ["DONE", "NOT_FOUND", "ERROR", "SKIPPED", "PENDING", "PROCESSING", "CANCELLED"] as const;
