import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useMe } from "~/shell/me";
import { Connection } from "./connection";
import { LiveContext } from "./live";
import { Refresher } from "./refresher";

/**
 * Keys of queries begin with what they are about, and that is how they are found here:
 * ["job", id, …], ["jobs", …], ["stages", …], ["overview", …], ["object", type, id, …].
 */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const me = useMe();
  const [connection] = useState(() => new Connection(me.lastEventId));
  const everybodys = me.role === "admin";

  useEffect(() => {
    const refresher = new Refresher(queries);
    const leave = connection.listen((event) => refresher.hear(event));
    connection.start(everybodys);
    return () => {
      leave();
      refresher.stop();
      connection.stop();
    };
  }, [connection, queries, everybodys]);

  return <LiveContext value={connection}>{children}</LiveContext>;
}
