// An MCP host in small, with the official SDK: starts the server that .mcp.json names, calls the tools of argv[2]
// (a JSON array of [name, arguments]), and prints what came of each. With "stay" as argv[3] it stays connected.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const server = JSON.parse(readFileSync(".mcp.json", "utf8")).mcpServers.files;
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));

const tools = (await client.listTools()).tools.map((tool) => tool.name);
const answers = [];
for (const [name, parameters] of JSON.parse(process.argv[2])) {
  const result = await client.callTool({ name, arguments: parameters });
  answers.push([result.isError ?? false, result.content.map((part) => part.text).join("\n")]);
}
console.log(JSON.stringify({ tools, answers }));
if (process.argv[3] === "stay") setInterval(() => {}, 1000);
else await client.close();
