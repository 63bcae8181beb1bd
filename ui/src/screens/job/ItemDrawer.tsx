import { Drawer } from "~/blocks/Drawer";

export function ItemDrawer({ itemId, onClose }: { itemId: number; onClose: () => void }) {
  return (
    <Drawer title={`Item ${itemId}`} onClose={onClose}>
      Not built yet.
    </Drawer>
  );
}
