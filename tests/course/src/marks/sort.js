for (const table of document.querySelectorAll("table.sort")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const key = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent.trim();
  heads.forEach((head, at) => {
    const number = head.classList.contains("number");
    head.querySelector("button").addEventListener("click", () => {
      // The first click sorts numbers in descending order and names in ascending order.
      const was = head.getAttribute("aria-sort");
      const up = was === null ? !number : was === "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [key(row, at), row]);
      rows.sort(([a], [b]) => {
        // Empty cells stay last in both directions.
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = number ? parseFloat(a) - parseFloat(b) : a.localeCompare(b, undefined, { numeric: true });
        return up ? order : -order;
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}
document.documentElement.dataset.ready = "yes";
