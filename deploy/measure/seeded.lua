-- Runs a script of sysbench so that its `prepare` makes the same tables each time: sysbench 1.0 heeds --rand-seed in
-- `run` alone. PERF_TRACKING_SCRIPT names the script, PERF_TRACKING_SEED the seed.
local ffi = require("ffi")
ffi.cdef [[
void srandom(unsigned int seed);
void sb_rand_thread_init(void);
]]

local script = assert(os.getenv("PERF_TRACKING_SCRIPT"), "PERF_TRACKING_SCRIPT names no script")
local seed = assert(tonumber(os.getenv("PERF_TRACKING_SEED")), "PERF_TRACKING_SEED is no number")

-- As sysbench finds it: a path, or a name among its own scripts.
local function find(name)
   for _, path in ipairs({name, name .. ".lua", "/usr/share/sysbench/" .. name .. ".lua"}) do
      local file = io.open(path)
      if file then
         file:close()
         return path
      end
   end
   error("there is no script " .. name)
end

dofile(find(script))

local function seeded(prepare)
   return function(...)
      -- The second takes the state of the first as the start of this thread's numbers.
      ffi.C.srandom(seed)
      ffi.C.sb_rand_thread_init()
      return prepare(...)
   end
end

local commands = sysbench.cmdline.commands
if commands and commands.prepare then
   commands.prepare[1] = seeded(commands.prepare[1])
elseif prepare then
   prepare = seeded(prepare)
end
